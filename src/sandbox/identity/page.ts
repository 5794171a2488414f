const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`)

const STYLE = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
  body { display: grid; min-height: 100vh; margin: 0; place-items: center; padding: 1rem }
  form { display: grid; gap: 1rem; width: min(22rem, 90vw) }
  label { display: grid; gap: .25rem }
  input, button { font: inherit; padding: .6rem .75rem }
  .wrong { color: light-dark(#b3261e, #ffb4ab) }`

/** The sign-in page. */
export const formatSignInPage = (parts: {
  readonly action: string
  readonly email: string
  readonly isWrong: boolean
}): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sandbox sign-in</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<form method="post" action="${escapeHtml(parts.action)}">
<h1>Sandbox sign-in</h1>
<p>Email addresses and passwords are in sandbox.json, under <code>identity</code>.</p>
${parts.isWrong ? '<p class="wrong" role="alert">Unknown user or wrong password.</p>' : ''}
<label>Email address
<input name="email" type="email" autocomplete="username" required autofocus value="${escapeHtml(parts.email)}"></label>
<label>Password
<input name="password" type="password" autocomplete="current-password" required></label>
<button name="choice" value="sign-in">Sign in</button>
<button name="choice" value="cancel" formnovalidate>Cancel</button>
</form>
</main>
</body>
</html>
`
