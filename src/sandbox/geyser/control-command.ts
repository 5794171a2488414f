import type { Chain } from '../chain/chain.js'
import type { GeyserServer } from './geyser.js'

/** Why an order is none, in words. */
export class ControlCommandError extends Error {
  override readonly name = 'ControlCommandError'
}

/** Bounds of what may be asked for: an hour is longer than any time-out. */
const WAIT_MS_MAX = 3_600_000
const SLOTS_AHEAD_MAX = 10_000
const COUNT_MAX = 1_000_000
const GRPC_CODE_MAX = 16

const integer = (value: unknown, name: string, least: number, most: number): number => {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
    throw new ControlCommandError(`${name} must be a whole number from ${least} to ${most}`)
  return value
}

type Order = Readonly<Record<string, unknown>>
type Fault = (feed: GeyserServer, order: Order, slot: () => number) => void

const endOf = ({ code, details = 'told to' }: Order) => {
  if (typeof details !== 'string') throw new ControlCommandError('details must be a text')
  return { code: integer(code, 'code', 1, GRPC_CODE_MAX), details }
}

/** What the feed can be told to do wrong, by name, and the members each takes. */
const FAULTS: Readonly<Record<string, readonly [members: readonly string[], fault: Fault]>> = {
  drop: [
    ['code', 'details'],
    (feed, order) => feed.dropStreams(order['code'] === undefined ? undefined : endOf(order)),
  ],
  cut: [[], feed => feed.dropConnections()],
  stall: [['ms'], (feed, { ms }) => feed.stall(integer(ms, 'ms', 1, WAIT_MS_MAX))],
  burst: [['slots'], (feed, { slots }) => feed.burst(integer(slots, 'slots', 1, SLOTS_AHEAD_MAX))],
  omit: [
    ['slot', 'isReplayed'],
    (feed, { isReplayed = false }, slot) => feed.omitSlot(slot(), isReplayed ? 'live' : 'always'),
  ],
  forgeParent: [['slot'], (feed, _order, slot) => feed.forgeParent(slot())],
  double: [['slot'], (feed, _order, slot) => feed.doubleSlot(slot())],
  swap: [['slot'], (feed, _order, slot) => feed.swapSlot(slot())],
  fork: [['slot'], (feed, _order, slot) => feed.forkSlot(slot())],
  forgetReplay: [[], feed => feed.forgetReplay()],
  refuse: [
    ['code', 'details', 'times'],
    (feed, order) => feed.refuse(endOf(order), integer(order['times'] ?? 1, 'times', 0, COUNT_MAX)),
  ],
}

/**
 * Makes a taker of orders: `{"fault":"omit","slot":7}`. A slot is one that is open or to come;
 * absent it is the open one. Throws ControlCommandError.
 */
export const createControl =
  (feed: GeyserServer, chain: Pick<Chain, 'slot'>) =>
  (text: string): void => {
    let given: unknown
    try {
      given = JSON.parse(text)
    } catch {
      throw new ControlCommandError('not JSON')
    }
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw new ControlCommandError('not an object')
    const { fault: name, ...order } = given as Record<string, unknown>
    const known = typeof name === 'string' && Object.hasOwn(FAULTS, name) ? FAULTS[name] : undefined
    if (known === undefined)
      throw new ControlCommandError(`fault must be one of ${Object.keys(FAULTS).join(', ')}`)
    const [members, run] = known
    const other = Object.keys(order).find(member => !members.includes(member))
    if (other !== undefined) throw new ControlCommandError(`${other} is unknown`)
    const slot = (): number =>
      integer(order['slot'] ?? chain.slot, 'slot', chain.slot, chain.slot + SLOTS_AHEAD_MAX)
    run(feed, order, slot)
  }
