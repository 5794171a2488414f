import type { HttpForm } from './http.js'

/** The bytes of a transaction as the body of a request. */
export const OCTETS: HttpForm = {
  contentType: 'application/octet-stream',
  isBinary: true,
  toBody: ({ bytes }) => bytes,
}
