// One connection to each server, and one request in flight at a time: what each method takes where
// nothing waits for anything else.
import { setRealtime, setSlice } from '../../src/native/os.js'
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
  /** Requests of a round, taken in turn from the list and from its start again at its end. */
  readonly roundRequests: number
}

/** A server, and what it is asked; all of them have the same cases. */
export type ServerCases = { readonly target: Target; readonly cases: readonly Case[] }

export type Sequential = { readonly servers: readonly ServerCases[]; readonly rounds: number }

/** Microseconds from the sending of a request to the last bytes of its reply, of one round. */
export type RoundTimes = { readonly p50: number; readonly p99: number }

/** Of each server, of each case, its rounds. */
export type SequentialResult = readonly (readonly (readonly RoundTimes[])[])[]

/** Microseconds. */
const OWN_TURN = 100

type Ask = (wire: Wire) => Promise<number>

/**
 * A client with its own connection; it resolves with the microseconds until the reply.
 */
const openAsk = async ({ isTls, port }: Target): Promise<Ask> => {
  let isIn: (outcome: Outcome) => void = () => {}
  const connection = await new Promise<Connection>(resolve => {
    const opened = new Connection(
      port,
      () => resolve(opened),
      (_connection, outcome) => isIn(outcome),
      isTls,
    )
  })
  return wire =>
    new Promise((resolve, reject) => {
      isIn = outcome => {
        if (outcome !== 'ok') reject(new Error(`an answer was ${outcome}`))
        else resolve((connection.receivedAt - connection.sentAt) * 1000)
      }
      connection.send(wire)
    })
}

/** One case at one server. */
class Subject {
  readonly times: RoundTimes[] = []
  readonly #ask: Ask
  readonly #wires: readonly Wire[]
  readonly #micros: Float64Array
  #next = 0

  constructor(ask: Ask, target: Target, { exchanges, roundRequests }: Case) {
    this.#ask = ask
    this.#wires = toWire(target, exchanges)
    this.#micros = new Float64Array(roundRequests)
  }

  async warm(): Promise<void> {
    for (const wire of this.#wires) await this.#ask(wire)
  }

  async time(): Promise<void> {
    const micros = this.#micros
    for (let nth = 0; nth < micros.length; nth++) {
      const wire = this.#wires[this.#next++ % this.#wires.length]
      if (wire === undefined) throw new Error('there is nothing to ask')
      micros[nth] = await this.#ask(wire)
    }
    const sorted = micros.toSorted()
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? NaN
    this.times.push({ p50: at(0.5), p99: at(0.99) })
  }
}

onStart<Sequential, SequentialResult>(async ({ servers, rounds }) => {
  // Its own wait for the processor is not the server's.
  if (!setRealtime()) setSlice(OWN_TURN)
  const subjects: Subject[][] = []
  for (const { target, cases } of servers) {
    const ask = await openAsk(target)
    subjects.push(cases.map(each => new Subject(ask, target, each)))
  }
  for (const subject of subjects.flat()) await subject.warm()
  // Servers take turns at each method, and methods in each round: what disturbs the machine
  // disturbs all alike.
  for (let round = 0; round < rounds; round++)
    for (const nth of subjects[0]?.keys() ?? []) {
      const turns = round % 2 === 0 ? subjects : subjects.toReversed()
      for (const server of turns) await server[nth]?.time()
    }
  return subjects.map(server => server.map(({ times }) => times))
})
