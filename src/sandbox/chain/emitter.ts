type Listener<A extends readonly unknown[]> = (...args: A) => void

/** Calls the listeners of an event in the order in which they were added. */
export class Emitter<Events extends Record<string, readonly unknown[]>> {
  private readonly listeners: { [E in keyof Events]?: Set<Listener<Events[E]>> } = {}

  /** Returns a function that removes the listener. */
  on<E extends keyof Events>(event: E, listener: Listener<Events[E]>): () => void {
    const set = (this.listeners[event] ??= new Set<Listener<Events[E]>>())
    set.add(listener)
    return () => set.delete(listener)
  }

  emit<E extends keyof Events>(event: E, ...args: Events[E]): void {
    const set = this.listeners[event]
    if (set !== undefined) for (const listener of set) listener(...args)
  }
}
