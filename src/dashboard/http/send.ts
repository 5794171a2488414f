import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PageFile } from './page-files.js'
import type { Answer } from './route.js'

type Headers = Readonly<Record<string, string>>

/** Sends an answer that no cache may store. `headers` are those of every answer. */
export const sendAnswer = (response: ServerResponse, headers: Headers, answer: Answer): void => {
  const body = answer.body === undefined ? undefined : JSON.stringify(answer.body)
  const all = { ...headers, 'Cache-Control': 'no-store', ...answer.headers }
  for (const [name, value] of Object.entries(all)) response.setHeader(name, value)
  if (body !== undefined) response.setHeader('Content-Type', 'application/json')
  response.statusCode = answer.status
  response.end(body)
}

/** Sends a file of the page, compressed if the client accepts that. */
export const sendFile = async (
  request: IncomingMessage,
  response: ServerResponse,
  headers: Headers,
  file: PageFile,
): Promise<void> => {
  const acceptsGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  const bytes = acceptsGzip ? await file.gzipped() : file.bytes
  response.writeHead(200, {
    ...headers,
    'Content-Type': file.type,
    'Content-Length': bytes.length,
    'Cache-Control': file.isForever ? 'public, max-age=31536000, immutable' : 'no-cache',
    Vary: 'Accept-Encoding',
    ...(acceptsGzip ? { 'Content-Encoding': 'gzip' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : bytes)
}
