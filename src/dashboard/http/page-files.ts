import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, sep } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** A file of the page. */
export type PageFile = {
  readonly type: string
  readonly bytes: Buffer
  /** True if the name changes with the content. */
  readonly isForever: boolean
  /** Compressed at the first call. */
  gzipped(): Promise<Buffer>
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
}

/** File names with a content hash, as vite writes them. */
const HASHED = /^\/assets\/.+-[A-Za-z0-9_-]{8}\.\w+$/

/** The page is kept in memory; more than this is a mistake. */
const PAGE_BYTES_MAX = 8 * 1024 ** 2

const compress = promisify(gzip)

/** The files of the built page, by path; `/` is `index.html`. Empty if the page was not built. */
export const loadPageFiles = (folder: string): ReadonlyMap<string, PageFile> => {
  const files = new Map<string, PageFile>()
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return files
  let byteCount = 0
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const bytes = readFileSync(join(folder, name))
    byteCount += bytes.length
    if (byteCount > PAGE_BYTES_MAX)
      throw new Error(`${folder} contains more than ${PAGE_BYTES_MAX} bytes: is it the built page?`)
    const path = `/${name.split(sep).join('/')}`
    let zipped: Promise<Buffer> | undefined
    files.set(path === '/index.html' ? '/' : path, {
      type,
      bytes,
      isForever: HASHED.test(path),
      gzipped: () => (zipped ??= compress(bytes, { level: 9 })),
    })
  }
  return files
}
