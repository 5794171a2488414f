import * as v from 'valibot'

const count = v.pipe(v.number(), v.integer(), v.minValue(0))
const key = v.pipe(v.string(), v.regex(/^[0-9a-f]{16}$/))

/** Use of one access: its key in the limit table, then the counts of `AccessUse`. */
const row = v.strictTuple([key, count, count, count, count])

const machineUse = v.object({
  /** Of the process that counted: totals of another one began at 0. */
  instance: v.pipe(v.string(), v.nonEmpty()),
  accesses: v.array(row),
})

/** What one machine has in use of an access. */
export type AccessUse = {
  /** Key of the access in the limit table. */
  readonly key: bigint
  /** Number of this series of totals: an access that was left out for a while begins a new one. */
  readonly series: number
  /** Requests that were charged since the series began. */
  readonly requests: number
  readonly requestsInFlight: number
  readonly sockets: number
}

/** The value of `use/<machine>`. */
export type MachineUse = {
  readonly instance: string
  readonly accesses: readonly AccessUse[]
}

export const formatUse = ({ instance, accesses }: MachineUse): string =>
  JSON.stringify({
    instance,
    accesses: accesses.map(({ key, series, requests, requestsInFlight, sockets }) => [
      BigInt.asUintN(64, key).toString(16).padStart(16, '0'),
      series,
      requests,
      requestsInFlight,
      sockets,
    ]),
  })

/** Throws if the value is not one. */
export const parseUse = (value: Uint8Array): MachineUse => {
  const parsed: unknown = JSON.parse(Buffer.from(value).toString())
  const { instance, accesses } = v.parse(machineUse, parsed)
  return {
    instance,
    accesses: accesses.map(([hex, series, requests, requestsInFlight, sockets]) => ({
      key: BigInt.asIntN(64, BigInt(`0x${hex}`)),
      series,
      requests,
      requestsInFlight,
      sockets,
    })),
  }
}
