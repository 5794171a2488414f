import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { us_listen_socket } from 'uWebSockets.js'
import { loadCompiled } from './compiled/library.js'
import type { Library } from './library.js'
import { PREBUILT_BINARIES } from './prebuilt-binaries.js'

/** Why no binary serves: there is none, it is not the recorded one, or the C library is too old. */
type Reason = 'no-binary' | 'checksum' | 'c-library' | 'other'

const SELECT = 'remove server.library, and the server that is compiled with the addon serves'
const COMPILE =
  'compile the server: install a C++ compiler and the headers of Node, whose folders may be ' +
  'named in SLOTLINE_NODE_HEADERS, and run `node scripts/setup.mjs`'

/** No binary of the prebuilt package can be loaded. The message says what to do instead. */
export class PrebuiltUnavailable extends Error {
  override readonly name = 'PrebuiltUnavailable'
  readonly reason: Reason

  constructor(reason: Reason, why: string) {
    const remedy = loadCompiled() === undefined ? COMPILE : SELECT
    super(`the prebuilt server cannot be loaded: ${why}; ${remedy}`)
    this.reason = reason
  }
}

const findBinary = (name: string): string => {
  try {
    return createRequire(import.meta.url).resolve(`uWebSockets.js/${name}`)
  } catch {
    const { platform, arch, version } = process
    const why = `uWebSockets.js has no binary for Node ${version} on ${platform} ${arch} (${name})`
    throw new PrebuiltUnavailable('no-binary', why)
  }
}

/** The binary would run with every secret of the process: only a recorded one is loaded. */
const verifyBinary = (name: string): void => {
  const digest = createHash('sha256')
    .update(readFileSync(findBinary(name)))
    .digest('hex')
  const recorded = PREBUILT_BINARIES.get(name)
  if (digest === recorded) return
  const why = `the SHA-256 of ${name} is ${digest}, not ${recorded ?? 'a recorded one'}`
  throw new PrebuiltUnavailable('checksum', why)
}

/** A binary that was linked with a newer C or C++ library, in the words of the GNU loader. */
const MISSING_VERSION = /`([\w.]+)' not found/

/** Says what the package's own error does not, which lists versions of Node. */
const explain = (name: string, error: unknown): PrebuiltUnavailable => {
  const text = error instanceof Error ? error.message : String(error)
  const needed = MISSING_VERSION.exec(text)?.[1]
  if (needed === undefined)
    return new PrebuiltUnavailable('other', `${name}: ${text.split('\n').at(-1) ?? text}`)
  const why = `${name} needs ${needed}, and the C library of this machine is older`
  return new PrebuiltUnavailable('c-library', why)
}

const importPackage = async () => {
  const name = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`
  verifyBinary(name)
  try {
    return (await import('uWebSockets.js')).default
  } catch (error) {
    throw explain(name, error)
  }
}

/**
 * Loads uWebSockets.js, which reads `UWS_ENVIRONMENT` at this moment. Rejects with
 * `PrebuiltUnavailable` where it has no recorded binary that this process can load.
 */
export const loadPrebuilt = async (): Promise<Library<us_listen_socket>> => {
  const uWS = await importPackage()
  // Undocumented: removes the header `uWebSockets: 20` from replies.
  if ('_cfg' in uWS && typeof uWS._cfg === 'function') uWS._cfg('silent')
  return {
    acceptsChunked: false,
    writesKeepAlive: false,
    createApp: () => uWS.App(),
    us_listen_socket_close: listener => uWS.us_listen_socket_close(listener),
    us_socket_local_port: listener => uWS.us_socket_local_port(listener),
    SHARED_COMPRESSOR: uWS.SHARED_COMPRESSOR,
    DISABLED: uWS.DISABLED,
  }
}
