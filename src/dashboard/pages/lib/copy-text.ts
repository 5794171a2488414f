/**
 * Puts a text on the clipboard that may still be on its way. The promise is handed to the browser
 * itself where it takes one, because some allow a write only in the very turn of the click.
 */
export const copyText = async (text: Promise<string>): Promise<void> => {
  // Where the page is not served securely there is no clipboard, whatever the types say.
  const clipboard: Clipboard | undefined = navigator.clipboard
  if (clipboard === undefined) throw new Error('no clipboard')
  if (typeof ClipboardItem === 'undefined') return clipboard.writeText(await text)
  const blob = text.then(value => new Blob([value], { type: 'text/plain' }))
  // Where the browser gives up before the text comes, its failure must not go unhandled.
  blob.catch(() => {})
  await clipboard.write([new ClipboardItem({ 'text/plain': blob })])
}
