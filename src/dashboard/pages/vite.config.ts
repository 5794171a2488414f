import { defineConfig } from 'vite'

/**
 * Builds the page with hashed file names and nothing inline, as its content security policy
 * requires.
 */
export default defineConfig({
  // Relative, so that the page works under any path.
  base: './',
  logLevel: 'warn',
  build: {
    // Next to the compiled files of the server, so only this folder is emptied.
    outDir: '../../../dist/dashboard/pages',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
  },
})
