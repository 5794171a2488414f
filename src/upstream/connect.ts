import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { createShortWay, type LookAhead } from './short-way.js'

type Target = { readonly hostname: string; readonly protocol: string; readonly port: string }
type Done = (...result: [null, Socket] | [Error, null]) => void

/**
 * TCP keep-alive begins after this: below the 5 minutes after which address translators forget a
 * connection.
 */
const KEEP_ALIVE_MS = 60_000

/**
 * Opens connections within `connectMs` to the millisecond: undici's own timer is up to half a
 * second late. `lookAhead` sees each connection's bytes before undici does (`createShortWay`).
 */
export const createConnect =
  (connectMs: number, lookAhead: LookAhead) =>
  ({ hostname, protocol, port }: Target, done: Done): void => {
    const isTls = protocol === 'https:'
    const { onread, attach } = createShortWay(lookAhead)
    const address = {
      host: hostname,
      port: Number(port === '' ? (isTls ? 443 : 80) : port),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
      onread,
    }
    const socket = isTls
      ? connectTls({
          ...address,
          ALPNProtocols: ['http/1.1'],
          ...(isIP(hostname) === 0 && { servername: hostname }),
        })
      : connectTcp(address)
    attach(socket)
    const timer = setTimeout(
      () => socket.destroy(new Error(`no connection within ${connectMs} ms`)),
      connectMs,
    )
    const onError = (error: Error): void => {
      clearTimeout(timer)
      done(error, null)
    }
    socket.once('error', onError)
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer)
      // From here on the caller listens.
      socket.off('error', onError)
      done(null, socket)
    })
  }
