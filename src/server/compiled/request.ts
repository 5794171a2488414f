/** Lines of a head before its headers: method, path, query and version. */
const FIRST_LINES = 4

/**
 * The head of a request: one string from C++, cut into lines. Each of them keeps the whole string
 * alive.
 */
export class HttpRequest {
  private readonly lines: readonly string[]
  readonly method: string
  readonly url: string
  readonly query: string
  /** Whether it is of HTTP/1.0. */
  readonly isAncient: boolean
  /** Whether a part of the body has not come. */
  readonly isBodyDue: boolean

  constructor(head: string) {
    this.lines = head.split('\n')
    const [method = '', url = '', query = '', version = ''] = this.lines
    this.method = method
    this.url = url
    this.query = query
    this.isAncient = version.startsWith('1.0')
    this.isBodyDue = version.endsWith('+')
  }

  getHeader(lowerCaseName: string): string {
    const { lines } = this
    for (let at = FIRST_LINES; at < lines.length; at += 2)
      if (lines[at] === lowerCaseName) return lines[at + 1] ?? ''
    return ''
  }

  forEach(handle: (name: string, value: string) => void): void {
    const { lines } = this
    for (let at = FIRST_LINES; at < lines.length; at += 2)
      handle(lines[at] ?? '', lines[at + 1] ?? '')
  }
}
