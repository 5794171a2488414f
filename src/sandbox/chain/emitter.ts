type Listener<A extends readonly unknown[]> = (...args: A) => void

/** Calls every listener of an event, in the order in which they came. */
export class Emitter<Events extends Record<string, readonly unknown[]>> {
  private readonly listeners: { [E in keyof Events]?: Set<Listener<Events[E]>> } = {}

  /** Returns the function that ends the listening. */
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
