// Opens connections that stay idle after one answer, and reads how much memory they add to their
// server.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { onStart } from '../child.js'

export type IdleConnections = {
  readonly port: number
  /** The server. */
  readonly pid: number
  readonly count: number
  readonly isTls: boolean
}

/** Of one connection, without what the kernel has of it. */
export type IdleConnectionsResult = { readonly rssBytes: number }

/** Opened at a time: a listening socket's queue is short. */
const TOGETHER = 50
const PING = 'GET /ping HTTP/1.1\r\nHost: a\r\n\r\n'

const rssOf = (pid: number): number => {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) * 1024
}

onStart<IdleConnections, IdleConnectionsResult>(async ({ port, pid, count, isTls }) => {
  const open = async (): Promise<Socket> => {
    const to = { port, host: '127.0.0.1' }
    const socket = isTls ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to)
    socket.write(PING)
    await once(socket, 'data')
    return socket
  }
  const openMany = async (): Promise<Socket[]> => {
    const sockets: Socket[] = []
    while (sockets.length < count)
      sockets.push(...(await Promise.all(Array.from({ length: TOGETHER }, open))))
    return sockets
  }
  // What a process takes once is no connection's.
  const warm = await openMany()
  const before = rssOf(pid)
  const sockets = await openMany()
  const rssBytes = (rssOf(pid) - before) / sockets.length
  for (const socket of [...warm, ...sockets]) socket.destroy()
  return { rssBytes }
})
