import type { us_listen_socket } from 'uWebSockets.js'
import type { Library } from './library.js'

/** Loads uWebSockets.js, which reads `UWS_ENVIRONMENT` at this moment. */
export const loadPrebuilt = async (): Promise<Library<us_listen_socket>> => {
  const { default: uWS } = await import('uWebSockets.js')
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
