import { timingSafeEqual } from 'node:crypto'
import { statSync } from 'node:fs'
import { RpcError } from '../../shared/errors.js'
import { Secret } from '../../shared/secret.js'
import type { AdminTokenRecord, ControlStore } from '../store/control-store.js'
import { createAdminToken, readAdminToken, writeAdminToken } from './admin-token.js'
import { digestToken, type RandomBytes } from './location-token.js'

/** What an admin token can be made for: to see everything but tokens, or to change it too. */
export const ADMIN_ROLES = ['read', 'change'] as const
/** Each includes those before it. Only the owner manages admin tokens. */
const ALL_ROLES = [...ADMIN_ROLES, 'owner'] as const
export type AdminRole = (typeof ADMIN_ROLES)[number]
export type HolderRole = (typeof ALL_ROLES)[number]

/** Whose token a request has. */
export type AdminHolder = { readonly name: string; readonly role: HolderRole }

/** An admin token as it is listed. */
export type AdminTokenInfo = AdminHolder & {
  /** Its last characters. */
  readonly tail: string
  /** Null of the one in the file. */
  readonly createdAtMs: number | null
  /** Exclusive; null is no end. */
  readonly validUntilMs: number | null
}

/** Name of the token in the file, which has no other role and no end. */
const FILE_TOKEN = 'file'

/** A request compares its token with each. */
export const ADMIN_TOKENS_MAX = 64

const TAIL_CHARS = 4

/** Whether a role may do what needs another one. */
export const includesRole = (role: HolderRole, needed: HolderRole): boolean =>
  ALL_ROLES.indexOf(role) >= ALL_ROLES.indexOf(needed)

/** The admin tokens of this machine: that of the file, and those that were made with it. */
export type AdminTokens = {
  /** Whose a token is, from now on until it ends; undefined: nobody's. */
  holderOf(token: string): AdminHolder | undefined
  /** By name, that of the file first. */
  list(): readonly AdminTokenInfo[]
  make(token: {
    readonly name: string
    readonly role: AdminRole
    readonly validUntilMs: number | null
  }): Promise<AdminTokenInfo & { readonly token: Secret }>
  /** Ends a token that was made; no later request succeeds with it. */
  end(name: string): Promise<void>
  /** Replaces the token in the file; no later request succeeds with the former one. */
  renewFile(): void
}

/** The token in the file, read again when the file has changed. Without a file there is none. */
class FileToken {
  private readonly file: string
  private readonly onError: (error: unknown) => void
  private version = ''
  private found: { readonly digest: Buffer; readonly tail: string } | undefined

  constructor(file: string, onError: (error: unknown) => void) {
    this.file = file
    this.onError = onError
  }

  current(): { readonly digest: Buffer; readonly tail: string } | undefined {
    const version = this.readVersion()
    if (version === this.version) return this.found
    this.version = version
    this.found = undefined
    try {
      const token = readAdminToken(this.file).reveal()
      this.found = { digest: digestToken(token), tail: token.slice(-TAIL_CHARS) }
    } catch (error) {
      this.onError(error)
    }
    return this.found
  }

  /** Reads it at the next use, whatever the file system says of it. */
  forget(): void {
    this.version = ''
  }

  private readVersion(): string {
    const found = statSync(this.file, { bigint: true, throwIfNoEntry: false })
    if (found === undefined) return 'absent'
    const { ino, mtimeNs, ctimeNs, size } = found
    return [ino, mtimeNs, ctimeNs, size].join()
  }
}

const toFileInfo = ({ tail }: { readonly tail: string }): AdminTokenInfo => ({
  name: FILE_TOKEN,
  role: 'owner',
  tail,
  createdAtMs: null,
  validUntilMs: null,
})

const toInfo = (name: string, record: AdminTokenRecord): AdminTokenInfo => ({
  name,
  role: record.role,
  tail: record.tail,
  createdAtMs: record.createdAtMs,
  validUntilMs: record.validUntilMs,
})

export const createAdminTokens = (options: {
  readonly store: ControlStore
  readonly file: string
  readonly randomBytes: RandomBytes
  readonly now: () => number
  /** The file is missing or cannot be used; called once for each state of it. */
  readonly onFileError: (error: unknown) => void
}): AdminTokens => {
  const { store, file, randomBytes, now, onFileError } = options
  const ofFile = new FileToken(file, onFileError)
  const made = new Map(store.adminTokens.from(''))

  const isValid = ({ validUntilMs }: AdminTokenRecord): boolean =>
    validUntilMs === null || now() < validUntilMs

  /** Removes what has ended, so that its names are free. */
  const sweep = async (): Promise<void> => {
    const ended = [...made].filter(([, record]) => !isValid(record))
    if (ended.length === 0) return
    await store.transaction(() => ended.forEach(([name]) => store.adminTokens.remove(name)))
    for (const [name] of ended) made.delete(name)
  }

  return {
    holderOf: token => {
      const digest = digestToken(token)
      const own = ofFile.current()
      // All are compared, and digests of one length: the time says nothing of any.
      let holder: AdminHolder | undefined
      for (const [name, record] of made)
        if (timingSafeEqual(record.digest, digest) && isValid(record))
          holder = { name, role: record.role }
      if (own !== undefined && timingSafeEqual(own.digest, digest))
        holder = { name: FILE_TOKEN, role: 'owner' }
      return holder
    },
    list: () => {
      const own = ofFile.current()
      const all = [...made].filter(([, record]) => isValid(record))
      const others = all.map(([name, record]) => toInfo(name, record))
      return own === undefined ? others : [toFileInfo(own), ...others]
    },
    make: async ({ name, role, validUntilMs }) => {
      if (validUntilMs !== null && validUntilMs <= now()) throw new RpcError('endPassed')
      await sweep()
      const token = createAdminToken(randomBytes)
      const record: AdminTokenRecord = {
        digest: digestToken(token),
        tail: token.slice(-TAIL_CHARS),
        role,
        createdAtMs: now(),
        validUntilMs,
      }
      await store.transaction(() => {
        // Here, so that two requests at the same time do not both find a place.
        if (name === FILE_TOKEN || store.adminTokens.get(name) !== undefined)
          throw new RpcError('adminTokenExists')
        if (Array.from(store.adminTokens.from('')).length >= ADMIN_TOKENS_MAX)
          throw new RpcError('adminTokensFull', { max: ADMIN_TOKENS_MAX })
        store.adminTokens.put(name, record)
      })
      made.set(name, record)
      return { ...toInfo(name, record), token: new Secret(token) }
    },
    end: async name => {
      // Before it is on disk: a request that comes now is refused already.
      const record = made.get(name)
      if (record === undefined || !isValid(record)) throw new RpcError('noSuchAdminToken')
      made.delete(name)
      try {
        await store.transaction(() => store.adminTokens.remove(name))
      } catch (error) {
        made.set(name, record)
        throw error
      }
    },
    renewFile: () => {
      writeAdminToken(file, createAdminToken(randomBytes))
      ofFile.forget()
    },
  }
}
