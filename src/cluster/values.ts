import * as v from 'valibot'

const id = v.pipe(v.string(), v.nonEmpty())
const count = v.pipe(v.number(), v.integer(), v.minValue(0))

const machine = v.object({ location: id })

const beat = v.object({
  /** Of the data directory that the machine runs on, so that two cannot run as one. */
  instance: id,
  /** All changes up to this revision are in effect at every edge of the machine. */
  applied: count,
})

/** A machine that was added to the cluster. */
export type Machine = Readonly<v.InferOutput<typeof machine>>
/** What a machine last said of itself. */
export type Beat = Readonly<v.InferOutput<typeof beat>>

const parse = <S extends v.GenericSchema>(schema: S, value: Uint8Array): v.InferOutput<S> =>
  v.parse(schema, JSON.parse(Buffer.from(value).toString()))

export const parseMachine = (value: Uint8Array): Machine => parse(machine, value)
export const parseBeat = (value: Uint8Array): Beat => parse(beat, value)
export const format = (value: Machine | Beat): string => JSON.stringify(value)
