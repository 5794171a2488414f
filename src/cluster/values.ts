import * as v from 'valibot'

const id = v.pipe(v.string(), v.nonEmpty())
const count = v.pipe(v.number(), v.integer(), v.minValue(0))

const machine = v.object({ location: id })

/** Bounds what a machine can make the others keep of it. */
const BEAT_BYTES_MAX = 16 * 1024

const beat = v.object({
  /** Of the data directory that the machine runs on, so that two cannot run as one. */
  instance: id,
  /** All changes up to this revision are in effect at every edge of the machine. */
  applied: count,
  /** Where its control answers other machines, with this machine's certificate. */
  peerUrl: v.optional(v.pipe(v.string(), v.url(), v.startsWith('https://'))),
  /** Version of what runs. */
  version: v.optional(v.pipe(v.string(), v.maxLength(64))),
  /** What `/health` says, the worst of its edges. */
  health: v.optional(v.pipe(v.string(), v.maxLength(32))),
  /** Tip of each network that has one. */
  slots: v.optional(v.record(v.string(), count)),
  /** Its clock, in Unix milliseconds. */
  timeMs: v.optional(v.number()),
  /** What was left of its lease. */
  leaseMs: v.optional(v.pipe(v.number(), v.minValue(0))),
})

/** A machine that was added to the cluster. */
export type Machine = Readonly<v.InferOutput<typeof machine>>
/** What a machine last said of itself. */
export type Beat = Readonly<v.InferOutput<typeof beat>>
/** The part of it that is for others to know, and proves nothing. */
export type Description = Omit<Beat, 'instance' | 'applied'>

const parse = <S extends v.GenericSchema>(schema: S, value: Uint8Array): v.InferOutput<S> =>
  v.parse(schema, JSON.parse(Buffer.from(value).toString()))

const read = <S extends v.GenericSchema>(
  schema: S,
  value: Uint8Array,
): v.InferOutput<S> | undefined => {
  try {
    return parse(schema, value)
  } catch {
    return undefined
  }
}

export const parseMachine = (value: Uint8Array): Machine => parse(machine, value)
export const readMachine = (value: Uint8Array): Machine | undefined => read(machine, value)
/** Undefined where a machine wrote something else than a beat. */
export const readBeat = (value: Uint8Array): Beat | undefined =>
  value.length > BEAT_BYTES_MAX ? undefined : read(beat, value)
export const format = (value: Machine | Beat): string => JSON.stringify(value)
