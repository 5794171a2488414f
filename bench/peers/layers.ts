/** What a request goes through, from the least on. */
export const LAYERS = ['bare', 'bare + kernel', 'server', 'server + access', 'all but rpc'] as const
export type Layer = (typeof LAYERS)[number]
