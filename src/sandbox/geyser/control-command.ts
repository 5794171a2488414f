import type { Chain } from '../chain/chain.js'
import type { FeedFaults } from './feed-faults.js'
import { BANK_FAULTS } from './slot-faults.js'

/** A control command that is not valid; the message says why. */
export class ControlCommandError extends Error {
  override readonly name = 'ControlCommandError'
}

/** One hour: longer than any time-out. */
const WAIT_MS_MAX = 3_600_000
const SLOTS_AHEAD_MAX = 10_000
const COUNT_MAX = 1_000_000
const GRPC_CODE_MAX = 16

const integer = (value: unknown, name: string, least: number, most: number): number => {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
    throw new ControlCommandError(`${name} must be a whole number from ${least} to ${most}`)
  return value
}

type Command = Readonly<Record<string, unknown>>
/** `slot` reads the slot of the command, `next` is the one after the open slot. */
type Inject = (feed: FeedFaults, command: Command, slot: () => number, next: number) => void

const statusOf = ({ code, details = 'injected fault' }: Command) => {
  if (typeof details !== 'string') throw new ControlCommandError('details must be a text')
  return { code: integer(code, 'code', 1, GRPC_CODE_MAX), details }
}

/** Faults by name, with the members that each accepts. */
const FAULTS: Readonly<Record<string, readonly [members: readonly string[], inject: Inject]>> = {
  drop: [
    ['code', 'details'],
    (feed, command) =>
      feed.dropStreams(command['code'] === undefined ? undefined : statusOf(command)),
  ],
  cut: [[], feed => feed.dropConnections()],
  stall: [['ms'], (feed, { ms }) => feed.stall(integer(ms, 'ms', 1, WAIT_MS_MAX))],
  burst: [['slots'], (feed, { slots }) => feed.burst(integer(slots, 'slots', 1, SLOTS_AHEAD_MAX))],
  omit: [
    ['slot', 'isReplayed'],
    (feed, { isReplayed = false }, slot) => feed.omitSlot(slot(), isReplayed ? 'live' : 'always'),
  ],
  forgeParent: [['slot'], (feed, _command, slot) => feed.forgeParent(slot())],
  double: [['slot'], (feed, _command, slot) => feed.doubleSlot(slot())],
  swap: [['slot'], (feed, _command, slot) => feed.swapSlot(slot())],
  fork: [['slot'], (feed, _command, slot) => feed.forkSlot(slot())],
  orphan: [['slot'], (feed, _command, slot) => void feed.orphanSlot(slot())],
  banks: [
    ['slot', 'kind'],
    (feed, { slot, kind }, _open, next) => {
      const fault = BANK_FAULTS.find(known => known === kind)
      if (fault === undefined)
        throw new ControlCommandError(`kind must be one of ${BANK_FAULTS.join(', ')}`)
      feed.splitSlot(integer(slot ?? next, 'slot', next, next + SLOTS_AHEAD_MAX), fault)
    },
  ],
  omitAccount: [['slot'], (feed, _command, slot) => feed.omitAccount(slot())],
  forgetReplay: [[], feed => feed.forgetReplay()],
  refuse: [
    ['code', 'details', 'times'],
    (feed, command) =>
      feed.refuse(statusOf(command), integer(command['times'] ?? 1, 'times', 0, COUNT_MAX)),
  ],
}

/**
 * Returns the handler of control commands: `{"fault":"omit","slot":7}`. Without `slot` the open
 * slot is meant. The handler throws ControlCommandError.
 */
export const createControl =
  (feed: FeedFaults, chain: Pick<Chain, 'slot'>) =>
  (text: string): void => {
    let given: unknown
    try {
      given = JSON.parse(text)
    } catch {
      throw new ControlCommandError('not JSON')
    }
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw new ControlCommandError('not an object')
    const { fault: name, ...command } = given as Record<string, unknown>
    const known = typeof name === 'string' && Object.hasOwn(FAULTS, name) ? FAULTS[name] : undefined
    if (known === undefined)
      throw new ControlCommandError(`fault must be one of ${Object.keys(FAULTS).join(', ')}`)
    const [members, inject] = known
    const other = Object.keys(command).find(member => !members.includes(member))
    if (other !== undefined) throw new ControlCommandError(`${other} is unknown`)
    const slot = (): number =>
      integer(command['slot'] ?? chain.slot, 'slot', chain.slot, chain.slot + SLOTS_AHEAD_MAX)
    inject(feed, command, slot, chain.slot + 1)
  }
