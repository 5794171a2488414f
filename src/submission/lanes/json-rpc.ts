import type { HttpForm } from './http.js'

/**
 * `sendTransaction` over HTTP: landers, engines, and nodes. Senders that take transactions of
 * searchers require that they are neither simulated nor repeated.
 */
export const JSON_RPC: HttpForm = {
  contentType: 'application/json',
  isBinary: false,
  toBody: ({ bytes }) => {
    const options = '{"encoding":"base64","skipPreflight":true,"maxRetries":0}'
    const params = `["${bytes.toString('base64')}",${options}]`
    return Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"sendTransaction","params":${params}}`)
  },
}
