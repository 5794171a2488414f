/** Ids of machines of the cluster whose part a sum lacks; absent on a machine by itself. */
export type Missing = { readonly missing?: readonly string[] }

/** Now, or once other machines have answered. */
export type Awaitable<T> = T | Promise<T>
