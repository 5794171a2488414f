import {
  openGrpcServer,
  type GrpcCertificate,
  type GrpcServer,
  type GrpcServerOptions,
} from '../../native/server/grpc-server.js'
import type { Log } from '../../shared/log.js'
import { defaults } from '../options.js'
import type { ListenerTls } from '../tls/certificate.js'
import { ListenerCertificates, type CertificateState } from '../tls/listener-certificates.js'

/** Where gRPC is served. */
export type GrpcListener = {
  /** A listening socket. */
  readonly descriptor: number
  readonly tls?: ListenerTls | undefined
}

/** A server of gRPC with the certificates of its listeners. */
export type GrpcListeners = {
  readonly server: GrpcServer
  /** Of each listener. */
  states(): readonly CertificateState[][]
  close(): void
}

/**
 * Opens a server with the certificates of its listeners, which are taken again when their files
 * change. Throws if one cannot be used.
 */
export const openGrpcListeners = (
  listeners: readonly GrpcListener[],
  options: Omit<GrpcServerOptions, 'listeners'>,
  log: Log,
): GrpcListeners => {
  let server: GrpcServer | undefined
  const watched: ListenerCertificates[] = []
  const given = listeners.map(({ descriptor, tls }, at) => {
    const certificates: GrpcCertificate[] = []
    if (tls !== undefined)
      watched.push(
        new ListenerCertificates(tls, {
          log,
          checkMs: defaults.certificateCheckSeconds * 1_000,
          set: (index, { chain, key }) => {
            // The key is overwritten after this call.
            if (server === undefined) certificates.push({ chain, key: Buffer.from(key) })
            else server.useCertificate(at, index, { chain, key })
          },
        }),
      )
    return { descriptor, certificates }
  })
  const opened = openGrpcServer({ ...options, listeners: given })
  for (const { certificates } of given) for (const { key } of certificates) key.fill(0)
  server = opened
  return {
    server: opened,
    states: () => watched.map(one => [...one.states]),
    close: () => {
      for (const one of watched) one.close()
      opened.close()
    },
  }
}
