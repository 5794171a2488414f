import { statSync } from 'node:fs'
import type { Log } from '../../shared/log.js'
import { certificatesOf, readCertificate, type CertificateFiles } from './certificate.js'
import type { Certificate, ListenerTls } from './certificate.js'

/** A certificate that a listener uses. */
export type CertificateState = {
  readonly certFile: string
  /** When it ends. */
  readonly endMs: number
  /** The files have changed and cannot be used: what they were before is. */
  readonly isRefused: boolean
}

type Parts = {
  readonly log: Log
  readonly checkMs: number
  /** Has new connections use a certificate; throws if OpenSSL refuses it. */
  set(index: number, certificate: Certificate): void
}

/** What differs when a file was written or replaced, or why there is none. */
const describeFile = (file: string): string => {
  try {
    const { ino, mtimeNs, size, mode } = statSync(file, { bigint: true })
    return [ino, mtimeNs, size, mode].join(' ')
  } catch (error) {
    return String(error)
  }
}

/** One certificate with its key, which are taken again when their files change. */
class WatchedCertificate {
  private readonly files: CertificateFiles
  private readonly parts: Parts
  private readonly index: number
  private endMs = 0
  private isRefused = false
  /** The files when they were last read, and at the last check. */
  private read = ''
  private seen = ''

  constructor(files: CertificateFiles, index: number, parts: Parts) {
    this.files = files
    this.index = index
    this.parts = parts
  }

  get state(): CertificateState {
    const { endMs, isRefused } = this
    return { certFile: this.files.certFile, endMs, isRefused }
  }

  /** Throws if the files cannot be used. */
  load(): void {
    // Before they are read: of a later change, the next check will know.
    this.read = this.describe()
    const certificate = readCertificate(this.files, Date.now())
    try {
      this.parts.set(this.index, certificate)
    } finally {
      certificate.key.fill(0)
    }
    this.endMs = certificate.endMs
    this.isRefused = false
  }

  /** Reads files that have changed once they stay the same, because both must be of one pair. */
  check(): void {
    const now = this.describe()
    const isSettled = now === this.seen
    this.seen = now
    if (isSettled && now !== this.read) this.reload()
  }

  private reload(): void {
    const { files, parts } = this
    try {
      this.load()
      const ends = new Date(this.endMs).toISOString()
      parts.log.info({ certFile: files.certFile, ends }, 'a listener has a new certificate')
    } catch (error) {
      this.isRefused = true
      const why = error instanceof Error ? error.message : String(error)
      parts.log.error({ certFile: files.certFile, why }, 'a new certificate cannot be used')
    }
  }

  private describe(): string {
    const { certFile, keyFile } = this.files
    return `${describeFile(certFile)}, ${describeFile(keyFile)}`
  }
}

/** The certificates of a listener: a change of their files is taken by the second check. */
export class ListenerCertificates {
  private readonly watched: readonly WatchedCertificate[]
  private readonly timer: NodeJS.Timeout

  /** Throws if a certificate cannot be used. */
  constructor(tls: ListenerTls, parts: Parts) {
    this.watched = certificatesOf(tls).map(
      (files, index) => new WatchedCertificate(files, index, parts),
    )
    for (const one of this.watched) one.load()
    this.timer = setInterval(() => this.check(), parts.checkMs)
    this.timer.unref()
  }

  get states(): readonly CertificateState[] {
    return this.watched.map(one => one.state)
  }

  close(): void {
    clearInterval(this.timer)
  }

  private check(): void {
    for (const one of this.watched) one.check()
  }
}
