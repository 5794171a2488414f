import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.js'
import type { BootstrapStatus } from '../shared/indexer-status.js'
import {
  BOOTSTRAP_DIR,
  forgetCancel,
  forgetRequest,
  readRequest,
  readState,
  requestCancel,
  writeState,
} from '../ingest/bootstrap/state.js'
import { currentGeneration, storesPath } from '../storage/generations.js'
import { lockStores } from '../storage/lock-stores.js'
import { readStatus, writeStatus } from '../storage/status-file.js'
import { storedTip } from './status.js'

type Ended = Pick<BootstrapStatus, 'state' | 'step' | 'reason'>

/** What there is to cancel: a bootstrap that runs or was left, or the request for one. */
const findId = (stores: string): string | undefined => {
  const state = readState(stores)
  return state?.status.state === 'running' ? state.request.id : readRequest(stores)?.id
}

/** Ends what a process left that is not there any more: nobody will go on with it. */
const settleLeft = (config: Config, network: string, reason: string): Ended => {
  const stores = storesPath(config.dataDir, network)
  const state = readState(stores)
  const ended = { state: 'cancelled', reason, endedAtMs: Date.now() } as const
  forgetRequest(stores)
  // It was asked for, and nobody has begun it.
  if (state?.status.state !== 'running') return { ...ended, step: 'spool' }
  const live = currentGeneration(stores)
  // Killed between the new store's name and the word that all is done.
  if (state.generation === live) return { ...state.status, state: 'done' }
  for (const name of [state.generation, BOOTSTRAP_DIR])
    rmSync(join(stores, name), { recursive: true, force: true })
  const status = { ...state.status, ...ended }
  const tip = live === undefined ? null : storedTip(config, network, live)
  writeState(stores, { ...state, status, cancelledAtSlot: tip?.slot ?? null })
  forgetCancel(stores, state.request.id)
  const said = readStatus(stores)
  if (said !== undefined) writeStatus(stores, { ...said, bootstrap: status })
  return status
}

/**
 * Has the process end it that carries it out. Answers how it ended, undefined where that is not
 * known any more.
 */
const askProcess = async (
  config: Config,
  network: string,
  cancel: { readonly id: string; readonly reason: string },
): Promise<Ended | undefined> => {
  const stores = storesPath(config.dataDir, network)
  requestCancel(stores, cancel)
  const endMs = performance.now() + config.processes.startMs
  for (;;) {
    await sleep(config.bootstrap.pollMs)
    const state = readState(stores)
    if (state?.request.id === cancel.id) {
      if (state.status.state !== 'running') return state.status
    } else if (readRequest(stores)?.id !== cancel.id) return undefined
    if (performance.now() > endMs)
      throw new Error(
        `the indexer of ${network} has said nothing for ${config.processes.startMs} ms: it ends the bootstrap when it goes on, see slotline status`,
      )
  }
}

/**
 * `slotline bootstrap cancel`: ends the bootstrap of a network, whoever carries it out, and removes
 * what it made. The live store stays as it is. Answers the exit code: 0 where it was cancelled, 1
 * where there was nothing to cancel. Throws where it could not be done.
 */
export const cancelBootstrap = async (
  config: Config,
  { network, reason }: { readonly network: string; readonly reason: string },
): Promise<0 | 1> => {
  process.title = 'slotline bootstrap'
  if (!config.networks.some(({ id }) => id === network)) throw new Error(`no network ${network}`)
  const id = findId(storesPath(config.dataDir, network))
  const nothing = (why: string): 1 => {
    process.stderr.write(`slotline: ${why}\n`)
    return 1
  }
  if (id === undefined) return nothing(`no bootstrap of network ${network} runs`)
  const ended = lockStores(config, network)
    ? settleLeft(config, network, reason)
    : await askProcess(config, network, { id, reason })
  if (ended?.state === 'cancelled') {
    process.stdout.write(
      `network ${network}: the bootstrap is cancelled at the step ${ended.step}; the store before it is as it was\n`,
    )
    return 0
  }
  const how =
    ended === undefined
      ? 'had ended'
      : ended.state === 'done'
        ? 'was done'
        : `had failed (${ended.reason ?? 'no reason is known'})`
  return nothing(`the bootstrap of network ${network} ${how} before it could be cancelled`)
}
