import { closeSync } from 'node:fs'
import { openDatagrams } from '../../native/os.js'
import type { QuicDialect } from '../../native/server/quic-listener.js'
import { QuicServer, type QuicAnswer } from '../../server/quic/quic-server.js'
import type { Log } from '../../shared/log.js'
import type { DevUpstream } from '../http/dev-upstream.js'
import type { UpstreamAnswer } from '../http/upstream-request.js'
import { CREDENTIALS } from './credentials.js'

const HOST = '127.0.0.1'

export type QuicLanderParts = {
  readonly lander: Pick<DevUpstream, 'handle'>
  readonly port: number
  readonly log: Log
  /** The sender that it stands for; Lunar Lander where it is absent. */
  readonly dialect?: QuicDialect
}

/** The key of a client; that of these senders is a UUID. */
const keyOf = (dialect: QuicDialect): string =>
  dialect === 'lunar-lander' || dialect === 'nextblock' ? CREDENTIALS.lander : CREDENTIALS.uuid

/** The dev lander over QUIC, as one process listens alone. */
export type QuicLander = {
  readonly port: number
  close(): void
}

const toAnswer = ({ status, body }: UpstreamAnswer): QuicAnswer => ({
  status,
  words: Buffer.from(body).toString(),
})

/**
 * Takes transactions as Lunar Lander or another sender does over QUIC, and handles each as one of
 * `/send-bin`: its requests and faults are those of the dev lander.
 */
export const openQuicLander = ({
  dialect = 'lunar-lander',
  lander,
  log,
  port,
}: QuicLanderParts): QuicLander => {
  const descriptor = openDatagrams(HOST, port)
  const headers = { 'x-api-key': CREDENTIALS.lander }
  const server = new QuicServer({
    ...{ descriptor, dialect, log },
    slot: 0,
    // Clients of an earlier process get no reset: their connections time out.
    resetKey: new Uint8Array(32),
    open: ({ token }) =>
      token === keyOf(dialect)
        ? {
            accessId: token,
            onOpen: () => {},
            onTransaction: async bytes => {
              const request = { method: 'POST', pathname: '/send-bin', headers }
              const body = Buffer.from(bytes)
              const query = new URLSearchParams()
              return toAnswer(await lander.handle({ ...request, body, query }))
            },
            onClose: () => {},
          }
        : 'invalid_auth',
  })
  return {
    port: server.port,
    close: () => {
      server.close()
      closeSync(descriptor)
    },
  }
}
