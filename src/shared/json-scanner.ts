/** Tokens are the codes of these characters; `END` is the end of the text. */
export const END = 0
export const STRING = 0x22
export const COMMA = 0x2c
export const OPEN_ARRAY = 0x5b
export const CLOSE_ARRAY = 0x5d
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d

const BACKSLASH = 0x5c

/**
 * Index of the quote that ends the string opened at `open`; the end of the text where none does.
 */
const closingQuote = (text: string, open: number): number => {
  for (let end = text.indexOf('"', open + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslash = end - 1
    while (text.charCodeAt(backslash) === BACKSLASH) backslash--
    if ((end - backslash) % 2 === 1) return end
  }
  return text.length
}

/**
 * Finds the strings, commas and brackets of JSON text, one at each `next`, without parsing values.
 * The text need not be valid JSON: then the tokens mean nothing, but they end.
 */
export class JsonScanner {
  /** Position of the current token; of a string, its opening quote. */
  index = -1
  /** Last character of the current token; of a string, its closing quote. */
  end = -1
  /** Arrays and objects around the next token. */
  depth = 0
  private readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Moves to the next token and returns it. */
  next(): number {
    const { text } = this
    for (let index = this.end + 1; index < text.length; index++) {
      const code = text.charCodeAt(index)
      switch (code) {
        case STRING:
          return this.move(code, index, closingQuote(text, index))
        case COMMA:
          return this.move(code, index, index)
        case OPEN_ARRAY:
        case OPEN_OBJECT:
          this.depth++
          return this.move(code, index, index)
        case CLOSE_ARRAY:
        case CLOSE_OBJECT:
          this.depth--
          return this.move(code, index, index)
      }
    }
    return this.move(END, text.length, text.length)
  }

  private move(token: number, index: number, end: number): number {
    this.index = index
    this.end = end
    return token
  }
}
