import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Scripts that check, time and print one part of a request each. */
const SCRIPTS = ['access/authenticate.js', 'access/usage-limiter.js', 'shared/metrics.js'] as const
/** Far more than any of them takes. */
const SCRIPT_MS_MAX = 120_000

/** What single parts of a request cost, without a server around them. */
export const benchParts = async (): Promise<void> => {
  for (const script of SCRIPTS) {
    const path = fileURLToPath(new URL(script, import.meta.url))
    const { status } = spawnSync(process.execPath, [path], {
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: SCRIPT_MS_MAX,
    })
    if (status !== 0) throw new Error(`${script} failed`)
  }
}
