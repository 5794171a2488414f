import { existsSync } from 'node:fs'
import t, { type Test } from 'tap'
import { currentGeneration, storesPath } from '../../src/storage/generations.js'
import { childPids, startDeployment, type Deployment } from '../fixtures/processes/deployment.js'
import { conservationQuestions, startPoller, type Poller } from '../fixtures/processes/poller.js'
import { until } from '../fixtures/until.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { isSoak } from '../fixtures/soak.js'

/** Upper bound of a recovery; that with nothing beside it in the soak. */
const REPAIR_MS = isSoak ? 2_000 : 20_000
/** Attempts per process, because a busy machine may delay a recovery. */
const KILLS_MAX = isSoak ? 4 : 1

/** Blocks while an edge is stopped: it is not restarted in that time. */
const SLOTS_BESIDE = isSoak ? 40 : 10

const ARGS = ['--edges', '2', '--slot-ms', '50', '--traffic', '100']

/** The newest slot of each process that answered. */
const metricsOf = async ({ description }: Deployment): Promise<ReadonlyMap<string, number>> => {
  const page = await (await fetch(description.metricsUrl)).text()
  const rows = page.matchAll(/^slotline_tip_slot\{process="([^"]+)",[^}]*\} (\d+)$/gm)
  const isUp = (name: string): boolean =>
    page.includes(`slotline_process_up{process="supervisor",child="${name}"} 1\n`)
  const slots = Array.from(rows, ([, name = '', slot]) => [name, Number(slot)] as const)
  return new Map(slots.filter(([name]) => isUp(name)))
}

const generationOf = ({ dataDir }: Deployment): string | undefined =>
  currentGeneration(storesPath(dataDir, 'sandbox'))

const onlyPid = (deployment: Deployment, role: string): number => {
  const [pid = 0] = deployment.pidsOf(role)
  return pid
}

/**
 * Kills and waits for the recovery; repeats if it took too long. Fails only if every attempt did.
 */
const checkRepair = async (t: Test, what: string, kill: () => Promise<void>): Promise<void> => {
  const times: number[] = []
  while (times.length < KILLS_MAX && !times.some(time => time < REPAIR_MS)) {
    const startMs = performance.now()
    await kill()
    times.push(Math.round(performance.now() - startMs))
  }
  t.comment(`${what}: repaired after ${times.join(', ')} ms`)
  t.ok(Math.min(...times) < REPAIR_MS, `${what} is repaired within ${REPAIR_MS} ms`)
}

/** A client that sends requests while `run` injects faults; every answer must be correct. */
const whilePolling = async (
  t: Test,
  deployment: Deployment,
  run: (poller: Poller) => Promise<void>,
): Promise<void> => {
  const questions = conservationQuestions(deployment.description.samples)
  const poller = startPoller(deployment.url, questions, 4)
  try {
    await until('the first answers', () => poller.answerCount > 20)
    await run(poller)
  } finally {
    await poller.stop()
  }
  t.comment(`${poller.answerCount} answers, ${poller.brokenCount} broken connections`)
  t.strictSame(poller.faults.slice(0, 5), [], 'no wrong answer')
}

t.test('killed processes recover, and no client receives a wrong answer', async t => {
  const deployment = await startDeployment(t, { args: ARGS })

  await t.test('an edge', t =>
    whilePolling(t, deployment, async poller => {
      const [first = 0] = deployment.pidsOf('edge')
      await checkRepair(t, 'a killed edge', async () => {
        const killed = requirePid(deployment.pidsOf('edge').find(pid => pid !== first))
        const answers = poller.answerCount
        process.kill(killed, 'SIGKILL')
        await until('another edge', () => {
          const pids = deployment.pidsOf('edge')
          return pids.length === 2 && !pids.includes(killed)
        })
        await until('its tip', async () => {
          const slots = await metricsOf(deployment)
          return ['edge 0', 'edge 1'].every(name => (slots.get(name) ?? 0) > 0)
        })
        t.ok(poller.answerCount > answers, 'the other edge answered during the restart')
      })
      t.ok(deployment.pidsOf('edge').includes(first), 'the other edge was not restarted')
    }),
  )

  await t.test('the indexer', t =>
    whilePolling(t, deployment, poller =>
      checkRepair(t, 'a killed indexer', async () => {
        const killed = onlyPid(deployment, 'indexer')
        process.kill(killed, 'SIGKILL')
        const isAnother = (): boolean => {
          const [pid] = deployment.pidsOf('indexer')
          return pid !== undefined && pid !== killed
        }
        await until('another indexer', isAnother)
        const { slot } = poller
        await until('its first block', () => poller.slot > slot)
      }),
    ),
  )

  await t.test('control', t =>
    whilePolling(t, deployment, () =>
      checkRepair(t, 'a killed control', async () => {
        const killed = onlyPid(deployment, 'control')
        process.kill(killed, 'SIGKILL')
        // Also for the next test: a new control process has every edge confirm the accesses.
        await until('another control process is ready', async () => {
          const page = await (await fetch(deployment.description.metricsUrl)).text()
          const isUp = page.includes(
            'slotline_process_up{process="supervisor",child="control"} 1\n',
          )
          return isUp && !deployment.pidsOf('control').includes(killed)
        })
      }),
    ),
  )

  await t.test('a stopped edge does not delay clients of other edges', t =>
    whilePolling(t, deployment, async poller => {
      const stopped = requirePid(deployment.pidsOf('edge')[0])
      // Enough connections that not all of them belong to the stopped edge.
      const questions = conservationQuestions(deployment.description.samples)
      const crowd = startPoller(deployment.url, questions, 24)
      try {
        await until('every connection is open', () => crowd.laneCounts.every(count => count > 0))
        process.kill(stopped, 'SIGSTOP')
        const before = crowd.laneCounts
        const { slot } = crowd
        await until('other connections continue', () => crowd.slot >= slot + SLOTS_BESIDE)
        const after = crowd.laneCounts
        const gains = after.map((count, lane) => count - (before[lane] ?? 0))
        t.ok(
          gains.some(gain => gain > 5),
          `answers by connection: ${gains.join(' ')}`,
        )
        t.ok(
          gains.some(gain => gain <= 1),
          'some connections were on the stopped edge',
        )
        const slots = await metricsOf(deployment)
        t.strictSame([...slots.keys()].filter(name => name.startsWith('edge')).length, 1)
        process.kill(stopped, 'SIGCONT')
        await until('the continued edge answers', () =>
          crowd.laneCounts.every((count, lane) => count > (after[lane] ?? 0) + 1),
        )
      } finally {
        process.kill(stopped, 'SIGCONT')
        await crowd.stop()
      }
      t.strictSame(crowd.faults.slice(0, 5), [])
      t.ok(poller.answerCount > 0)
      t.ok(deployment.pidsOf('edge').includes(stopped), 'the stopped edge was not restarted')
    }),
  )

  await t.test('the sandbox with its chain', async t => {
    const generation = generationOf(deployment)
    process.kill(onlyPid(deployment, 'sandbox'), 'SIGKILL')
    // The new chain has other slots: only here may slots decrease.
    await until('another chain is indexed', () => {
      const now = generationOf(deployment)
      return now !== undefined && now !== generation
    })
    await until('every process follows it', async () => {
      const slots = [...(await metricsOf(deployment)).values()]
      return slots.length === 3 && Math.max(...slots) - Math.min(...slots) < 20
    })
    await whilePolling(t, deployment, async poller => {
      const { slot } = poller
      await until('its tip moves', () => poller.slot > slot)
    })
  })

  await t.test('the supervisor', async t => {
    const { supervisor, dataDir, port } = deployment
    const children = childPids(supervisor.pid ?? 0)
    t.equal(children.length, 7)
    supervisor.kill('SIGKILL')
    await until('its children have ended', () => !children.some(pid => existsSync(`/proc/${pid}`)))
    const again = await startDeployment(t, { args: ARGS, dataDir, port })
    t.equal(again.url, deployment.url, 'with the same tokens')
    await whilePolling(t, again, async poller => {
      const { slot } = poller
      await until('its tip moves', () => poller.slot > slot)
    })
    t.equal(await again.stop(), 0)
  })
})
