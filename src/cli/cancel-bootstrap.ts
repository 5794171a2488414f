import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.js'
import {
  BOOTSTRAP_DIR,
  forgetCancel,
  forgetRequest,
  readRequest,
  readState,
  requestCancel,
  writeState,
} from '../ingest/bootstrap/state.js'
import type { BootstrapStatus } from '../shared/indexer-status.js'
import { currentGeneration, storesPath } from '../storage/generations.js'
import { lockStores } from '../storage/lock-stores.js'
import { readStatus, writeStatus } from '../storage/status-file.js'
import { readStoredTip } from '../storage/stored-tip.js'
import { toStoreOptions } from '../storage/store-options.js'
import { demandNetwork } from './command.js'
import { demandResponsive } from './service/indexer-process.js'

type Outcome = Pick<BootstrapStatus, 'state' | 'step' | 'reason'>

/** Id of the request of a running, interrupted or only requested bootstrap. */
const findId = (stores: string): string | undefined => {
  const state = readState(stores)
  return state?.status.state === 'running' ? state.request.id : readRequest(stores)?.id
}

/** Cancels what a stopped process left. Locks prevent another process from resuming it. */
const cancelLeft = (config: Config, network: string, reason: string): Outcome => {
  const stores = storesPath(config.dataDir, network)
  const state = readState(stores)
  const cancelled = { state: 'cancelled', reason, endedAtMs: Date.now() } as const
  forgetRequest(stores)
  // Requested, but not started.
  if (state?.status.state !== 'running') return { ...cancelled, step: 'spool' }
  const live = currentGeneration(stores)
  // Killed after the new store became live.
  if (state.generation === live) return { ...state.status, state: 'done' }
  for (const name of [state.generation, BOOTSTRAP_DIR])
    rmSync(join(stores, name), { recursive: true, force: true })
  const status = { ...state.status, ...cancelled }
  const tip =
    live === undefined ? null : readStoredTip(join(stores, live), toStoreOptions(config, network))
  writeState(stores, { ...state, status, cancelledAtSlot: tip?.slot ?? null })
  forgetCancel(stores, state.request.id)
  const written = readStatus(stores)
  if (written !== undefined) writeStatus(stores, { ...written, bootstrap: status })
  return status
}

/** Asks the running process to cancel it. Undefined if its outcome is no longer known. */
const askProcess = async (
  config: Config,
  network: string,
  cancel: { readonly id: string; readonly reason: string },
): Promise<Outcome | undefined> => {
  const stores = storesPath(config.dataDir, network)
  const { startMs } = config.processes
  requestCancel(stores, cancel)
  const endMs = performance.now() + startMs
  for (;;) {
    await sleep(config.bootstrap.pollMs)
    const state = readState(stores)
    if (state?.request.id === cancel.id) {
      if (state.status.state !== 'running') return state.status
    } else if (readRequest(stores)?.id !== cancel.id) return undefined
    demandResponsive(config, network, 'it cancels the bootstrap when it runs again')
    if (performance.now() > endMs)
      throw new Error(
        `the indexer of ${network} did not answer within ${startMs} ms: it cancels the bootstrap when it runs again, see slotline status`,
      )
  }
}

const describe = (outcome: Outcome | undefined): string => {
  if (outcome === undefined) return 'had ended'
  if (outcome.state === 'done') return 'was done'
  return `had failed (${outcome.reason ?? 'no reason is known'})`
}

/**
 * Cancels the bootstrap of a network in any process and removes its files. The live store is
 * unchanged. Returns the exit code: 0 if it was cancelled, 1 if there was nothing to cancel. Throws
 * if it could not be cancelled.
 */
export const cancelBootstrap = async (
  config: Config,
  { network, reason }: { readonly network: string; readonly reason: string },
): Promise<0 | 1> => {
  process.title = 'slotline bootstrap'
  demandNetwork(config, network)
  const id = findId(storesPath(config.dataDir, network))
  const answerNothing = (why: string): 1 => {
    process.stderr.write(`slotline: ${why}\n`)
    return 1
  }
  if (id === undefined) return answerNothing(`no bootstrap of network ${network} runs`)
  const outcome = lockStores(config.dataDir, network)
    ? cancelLeft(config, network, reason)
    : await askProcess(config, network, { id, reason })
  if (outcome?.state !== 'cancelled')
    return answerNothing(
      `the bootstrap of network ${network} ${describe(outcome)} before it could be cancelled`,
    )
  process.stdout.write(
    `network ${network}: the bootstrap is cancelled at the step ${outcome.step}; the live store is unchanged\n`,
  )
  return 0
}
