import { createRequire } from 'node:module'
import type { us_listen_socket } from 'uWebSockets.js'
import { loadCompiled } from './compiled/library.js'
import type { Library } from './library.js'

/** The package has no binary for this Node and machine, or needs a newer C library. */
type Reason = 'no-binary' | 'c-library' | 'other'

const SELECT = 'remove server.library, and the server that is compiled with the addon serves'
const COMPILE =
  'compile the server: install a C++ compiler and the headers of Node, whose folder may be named ' +
  'in SLOTLINE_NODE_HEADERS, and run `node scripts/setup.mjs`'

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

/** A binary that was linked with a newer C or C++ library, in the words of the GNU loader. */
const MISSING_VERSION = /version `([\w.]+)' not found/

/** Says what the package's own error does not, which lists versions of Node. */
const explain = (error: unknown): PrebuiltUnavailable => {
  const { platform, arch, version, versions } = process
  const binary = `uws_${platform}_${arch}_${versions.modules}.node`
  try {
    createRequire(import.meta.url).resolve(`uWebSockets.js/${binary}`)
  } catch {
    const why = `uWebSockets.js has no binary for Node ${version} on ${platform} ${arch} (${binary})`
    return new PrebuiltUnavailable('no-binary', why)
  }
  const text = error instanceof Error ? error.message : String(error)
  const needed = MISSING_VERSION.exec(text)?.[1]
  if (needed === undefined)
    return new PrebuiltUnavailable('other', `${binary}: ${text.split('\n').at(-1) ?? text}`)
  const why = `${binary} needs ${needed}, and the C library of this machine is older`
  return new PrebuiltUnavailable('c-library', why)
}

const importPackage = async () => {
  try {
    return (await import('uWebSockets.js')).default
  } catch (error) {
    throw explain(error)
  }
}

/**
 * Loads uWebSockets.js, which reads `UWS_ENVIRONMENT` at this moment. Rejects with
 * `PrebuiltUnavailable` where it has no binary that this process can load.
 */
export const loadPrebuilt = async (): Promise<Library<us_listen_socket>> => {
  const uWS = await importPackage()
  // Undocumented: removes the header `uWebSockets: 20` from replies.
  if ('_cfg' in uWS && typeof uWS._cfg === 'function') uWS._cfg('silent')
  return {
    createApp: () => uWS.App(),
    us_listen_socket_close: listener => uWS.us_listen_socket_close(listener),
    us_socket_local_port: listener => uWS.us_socket_local_port(listener),
    SHARED_COMPRESSOR: uWS.SHARED_COMPRESSOR,
    DISABLED: uWS.DISABLED,
  }
}
