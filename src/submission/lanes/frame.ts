import type { HttpForm } from './http.js'

/** A batch of one: the length of the transaction in two bytes, big-endian, and its bytes. */
export const FRAME: HttpForm = {
  contentType: 'application/octet-stream',
  isBinary: true,
  toBody: ({ bytes }) => Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 0xff), bytes]),
}
