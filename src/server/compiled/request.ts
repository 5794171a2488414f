/** Lines of a head before its headers: method, path, query and version. */
const FIRST_LINES = 4

/** The head of a request: one string from C++, cut into lines. */
export class HttpRequest {
  private readonly lines: readonly string[]

  constructor(head: string) {
    this.lines = head.split('\n')
  }

  getCaseSensitiveMethod(): string {
    return this.lines[0] ?? ''
  }

  getUrl(): string {
    return this.lines[1] ?? ''
  }

  getQuery(): string {
    return this.lines[2] ?? ''
  }

  getHeader(lowerCaseName: string): string {
    const { lines } = this
    for (let at = FIRST_LINES; at < lines.length; at += 2)
      if (lines[at] === lowerCaseName) return lines[at + 1] ?? ''
    return ''
  }

  /** Whether it is of HTTP/1.0. */
  isAncient(): boolean {
    return this.lines[3]?.startsWith('1.0') === true
  }

  /** Whether a part of the body has not come. */
  isBodyDue(): boolean {
    return this.lines[3]?.endsWith('+') === true
  }

  forEach(handle: (name: string, value: string) => void): void {
    const { lines } = this
    for (let at = FIRST_LINES; at < lines.length; at += 2)
      handle(lines[at] ?? '', lines[at + 1] ?? '')
  }
}
