import type { HttpForm } from './http.js'

/** The base64 of a transaction as the body of a request. */
export const TEXT: HttpForm = {
  contentType: 'text/plain',
  isBinary: true,
  toBody: ({ bytes }) => Buffer.from(bytes.toString('base64')),
}
