// getAccountInfo with json-rpc-2.0 on uWebSockets.js, and the serializer that Fastify uses.
import fastJson from 'fast-json-stringify'
import { JSONRPCErrorException, JSONRPCServer, type JSONRPCRequest } from 'json-rpc-2.0'
import uws from 'uWebSockets.js'
import { onStart } from '../child.js'
import { CallError, openAccounts, REPLY, type Listening, type Start } from './stored-accounts.js'

onStart<Start, Listening>(async start => {
  const accounts = await openAccounts(start)
  const toText = fastJson(REPLY)
  const calls = new JSONRPCServer({ errorListener: () => {} })
  calls.addMethod('getAccountInfo', params => {
    try {
      return accounts.accountInfo(params)
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      throw new JSONRPCErrorException(error.message, error.code)
    }
  })
  const answer = async (body: string): Promise<string> =>
    // Null is what a notification gets, which the bench does not send.
    toText((await calls.receive(JSON.parse(body) as JSONRPCRequest)) ?? {})

  return new Promise((resolve, reject) => {
    uws
      .App()
      .post('/*', (response, request) => {
        const isKnown = accounts.isKnown(request.getUrl().slice(1))
        const parts: Buffer[] = []
        let isAborted = false
        const send = (status: string, text: string): void => {
          if (isAborted) return
          response.cork(() =>
            response.writeStatus(status).writeHeader('content-type', 'application/json').end(text),
          )
        }
        response.onAborted(() => {
          isAborted = true
        })
        response.onData((chunk, isLast) => {
          // uWebSockets.js takes the chunk back on return.
          parts.push(Buffer.from(chunk.slice(0)))
          if (!isLast) return
          if (!isKnown) return send('401 Unauthorized', '')
          answer(Buffer.concat(parts).toString()).then(
            text => send('200 OK', text),
            () => send('400 Bad Request', ''),
          )
        })
      })
      .listen('127.0.0.1', 0, socket => {
        if (socket === false) reject(new Error('cannot listen'))
        // The typing of a listening socket lacks what every socket has.
        else resolve({ port: uws.us_socket_local_port(socket) })
      })
  })
})
