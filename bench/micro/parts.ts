import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Scripts that check, time and print one part of a request each. */
const folder = fileURLToPath(new URL('parts/', import.meta.url))
/** Far more than any of them takes. */
const SCRIPT_MS_MAX = 120_000

/** What single parts of a request cost, without a server around them. */
export const benchParts = async (): Promise<void> => {
  const scripts = readdirSync(folder).filter(name => name.endsWith('.js'))
  for (const script of scripts) {
    const { status } = spawnSync(process.execPath, [`${folder}${script}`], {
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: SCRIPT_MS_MAX,
    })
    if (status !== 0) throw new Error(`${script} failed`)
  }
}
