import * as addon from '#native'
import { callNative, toFailure } from '../errors.js'

/** Tables and statements of the store. */
export type UsageSchema = addon.UsageSchema

/** Adds what edges have counted to the store. */
export type UsageRecorder = {
  /** Adds what was closed. Resolves to how much it was. */
  record(): Promise<number>
  /** Runs statements in one transaction. Resolves to the bytes of the store that are in use. */
  run(statements: readonly string[], parameters: readonly unknown[]): Promise<number>
}

/** What is read of the store, and of what edges have counted since. */
export type UsageQuery = {
  readonly sql: string
  readonly parameters: readonly unknown[]
  /** Of these accesses, in the turn of the first; without one, of all. */
  readonly accesses: readonly string[]
  readonly limitMs: number
  readonly rowsMax: number
  /** Whether it asks for what edges have counted since, too. */
  readonly isLive: boolean
}

const finished = async (result: Promise<addon.UsageResult>): Promise<unknown> => {
  const { failure, json = '' } = await result
  if (failure !== undefined) throw toFailure(failure)
  return JSON.parse(json)
}

type Paths = { readonly store: string; readonly edges: string }

export const openRecorder = ({ store, edges }: Paths, schema: UsageSchema): UsageRecorder => {
  const native = callNative(() => new addon.UsageRecorder(store, edges, schema))
  return {
    record: async () => Number(await finished(callNative(() => native.record()))),
    run: async (statements, parameters) =>
      Number(
        await finished(callNative(() => native.run([...statements], JSON.stringify(parameters)))),
      ),
  }
}

export const openReader = (
  { store, edges }: Paths,
  schema: UsageSchema,
): ((query: UsageQuery) => Promise<unknown>) => {
  const native = callNative(() => new addon.UsageReader(store, edges, schema))
  return ({ sql, parameters, accesses, isLive, limitMs, rowsMax }) =>
    finished(
      callNative(() =>
        native.query(sql, JSON.stringify(parameters), [...accesses], [limitMs, rowsMax], isLive),
      ),
    )
}
