// Types of the parts of autocannon that the bench uses; the package has none.
declare module 'autocannon' {
  export type Options = {
    readonly url: string
    readonly method: 'POST'
    readonly headers: Readonly<Record<string, string>>
    readonly connections: number
    /** Seconds. */
    readonly duration: number
    readonly requests: readonly { readonly body: string | Buffer }[]
    readonly verifyBody: (body: string) => boolean
  }
  export type Result = {
    readonly requests: { readonly sent: number; readonly total: number }
    readonly errors: number
    readonly timeouts: number
    readonly mismatches: number
    readonly resets: number
    readonly non2xx: number
    readonly '2xx': number
    /** Seconds. */
    readonly duration: number
  }
  export default function autocannon(options: Options): PromiseLike<Result>
}
