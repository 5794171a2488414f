// One connection with one request on its way: what each method takes where nothing waits for anything else.
import { setRealtime, setSlice } from '../../src/shared/native.js'
import { onStart } from '../child.js'
import {
  Connection,
  toWire,
  type Exchange,
  type Outcome,
  type Target,
  type Wire,
} from './connection.js'

/** Requests of one kind. */
export type Case = {
  readonly exchanges: readonly Exchange[]
  /** Each round takes the next so many, and begins again where there are no more. */
  readonly roundRequests: number
}

export type OneByOne = {
  readonly target: Target
  readonly cases: readonly Case[]
  readonly rounds: number
}

/** Microseconds from the sending of a request to the last bytes of its reply, of one round. */
export type RoundTimes = { readonly p50: number; readonly p99: number }

/** Of each case, its rounds. */
export type Timed = readonly (readonly RoundTimes[])[]

/** Microseconds. */
const OWN_TURN = 100

onStart<OneByOne, Timed>(async ({ target, cases, rounds }) => {
  // Its own wait for the processor is not the server's.
  if (!setRealtime()) setSlice(OWN_TURN)
  let isIn: (outcome: Outcome) => void = () => {}
  const connection = await new Promise<Connection>(resolve => {
    const opened = new Connection(
      target.port,
      () => resolve(opened),
      (_connection, outcome) => isIn(outcome),
    )
  })
  const ask = (wire: Wire): Promise<void> =>
    new Promise((resolve, reject) => {
      isIn = outcome =>
        outcome === 'ok' ? resolve() : reject(new Error(`an answer was ${outcome}`))
      connection.send(wire)
    })

  const all = cases.map(({ exchanges, roundRequests }) => ({
    wires: toWire(target, exchanges),
    roundRequests,
    times: [] as RoundTimes[],
  }))
  for (const { wires } of all) for (const wire of wires) await ask(wire)
  // Methods take turns: what disturbs the machine for some seconds disturbs one round of each.
  for (let round = 0; round < rounds; round++)
    for (const { wires, roundRequests, times } of all) {
      const micros = new Float64Array(roundRequests)
      for (let nth = 0; nth < roundRequests; nth++) {
        const wire = wires[(round * roundRequests + nth) % wires.length]
        if (wire === undefined) throw new Error('there is nothing to ask')
        await ask(wire)
        micros[nth] = (connection.receivedAt - connection.sentAt) * 1000
      }
      micros.sort()
      const at = (share: number) => micros[Math.floor((roundRequests - 1) * share)] ?? NaN
      times.push({ p50: at(0.5), p99: at(0.99) })
    }
  connection.close()
  return all.map(({ times }) => times)
})
