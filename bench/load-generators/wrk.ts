import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Exchange, Target } from './connection.js'
import { parseWrk, type WrkResult } from './parse-wrk.js'

/**
 * True where wrk is installed: it costs less than any client in JavaScript, so it is worth a second
 * opinion.
 */
export const hasWrk = (): boolean => spawnSync('wrk', ['--version']).error === undefined

/** Runs wrk over all exchanges in turn. It compares the status only. */
export const runWrk = async (options: {
  readonly dir: string
  readonly target: Target
  readonly exchanges: readonly Exchange[]
  readonly connectionCount: number
  readonly durationMs: number
}): Promise<WrkResult> => {
  const { target } = options
  const script = join(options.dir, 'wrk.lua')
  const bodies = options.exchanges.map(exchange => `[==[${exchange.body}]==]`).join(',')
  writeFileSync(
    script,
    [
      'wrk.method = "POST"',
      'wrk.headers["Content-Type"] = "application/json"',
      `local bodies, requests, nth = {${bodies}}, {}, 0`,
      'init = function()',
      '  for i, body in ipairs(bodies) do requests[i] = wrk.format(nil, nil, nil, body) end',
      'end',
      'request = function() nth = nth % #requests + 1; return requests[nth] end',
      '',
    ].join('\n'),
  )
  const seconds = Math.max(1, Math.round(options.durationMs / 1000))
  const url = `http://127.0.0.1:${target.port}${target.path}`
  const args = ['-t1', `-c${options.connectionCount}`, `-d${seconds}s`, '-s', script, url]
  const output = await new Promise<string>((resolve, reject) => {
    const child = spawn('wrk', args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.on('data', chunk => (text += String(chunk)))
    child.on('error', reject)
    child.on('close', () => resolve(text))
  })
  return parseWrk(output)
}
