// A lander and a bundle engine that only answer: the minimum cost of a submission. It represents
// for the upstream when it is called directly, and when it is called through an edge.
import { createHash } from 'node:crypto'
import bs58 from 'bs58'
import uws from 'uWebSockets.js'
import { setRealtime } from '../../src/native/os.js'
import { onStart } from '../child.js'
import { PATHS } from './upstream-paths.js'

/** Where it answers. */
export type Listening = { readonly port: number }

const RESULT = 'bench'.padEnd(88, '1')
const COUNTS = JSON.stringify({ attempted: 16, accepted: 16, rejected: 0, parse_error: null })
const ID = /"id":("[^"]*"|[^,}]+)/

const callReply = (body: Buffer): string =>
  `{"jsonrpc":"2.0","result":"${RESULT}","id":${ID.exec(body.toString('latin1'))?.[1] ?? 'null'}}`

const TRANSACTION = /"([A-Za-z0-9+/=]{100,})"/
const SIGNATURE = { from: 1, to: 65 } as const

const signatureOf = (text: string): string => {
  const bytes = Buffer.from(TRANSACTION.exec(text)?.[1] ?? '', 'base64')
  return bs58.encode(bytes.subarray(SIGNATURE.from, SIGNATURE.to))
}

/** A lander answers with the signature. */
const transactionReply = (body: Buffer): string => {
  const text = body.toString('latin1')
  return `{"jsonrpc":"2.0","result":"${signatureOf(text)}","id":${ID.exec(text)?.[1] ?? 'null'}}`
}

/** An engine answers with the bundle's id: here always of bundles of one transaction. */
const engineReply = (body: Buffer): string => {
  const text = body.toString('latin1')
  const id = createHash('sha256').update(signatureOf(text)).digest('hex')
  return `{"jsonrpc":"2.0","result":"${id}","id":${ID.exec(text)?.[1] ?? 'null'}}`
}

/** The other kind of engine answers with the signatures. */
const irisReply = (body: Buffer): string => {
  const text = body.toString('latin1')
  return `{"jsonrpc":"2.0","result":["${signatureOf(text)}"],"id":${ID.exec(text)?.[1] ?? 'null'}}`
}

const REPLIES: Readonly<Record<string, (body: Buffer) => string>> = {
  [PATHS.transaction]: transactionReply,
  [PATHS.bundle]: callReply,
  [PATHS.batch]: () => COUNTS,
  [PATHS.engine]: engineReply,
  [PATHS.iris]: irisReply,
}

onStart<null, Listening>(
  () =>
    new Promise((resolve, reject) => {
      // It represents another machine: other work of this one must not delay it.
      setRealtime()
      uws
        .App()
        .get('/ping', response => void response.end('pong'))
        .post('/*', (response, request) => {
          const toReply = REPLIES[request.getUrl()]
          const parts: Buffer[] = []
          response.onAborted(() => {})
          response.onData((chunk, isLast) => {
            // uWebSockets.js takes the chunk back on return.
            parts.push(Buffer.from(chunk.slice(0)))
            if (!isLast) return
            if (toReply === undefined) return void response.writeStatus('404 Not Found').end()
            response.cork(() =>
              response
                .writeHeader('content-type', 'application/json')
                .end(toReply(Buffer.concat(parts))),
            )
          })
        })
        .listen('127.0.0.1', 0, socket => {
          if (socket === false) reject(new Error('cannot listen'))
          // The typing of a listening socket lacks what every socket has.
          else resolve({ port: uws.us_socket_local_port(socket) })
        })
    }),
)
