/** Runs commands that come by IPC, and sends their replies. Ends this process with its parent. */
export function serve(commands) {
  process.on('message', async ({ id, command, args }) => {
    try {
      process.send({ id, value: await commands[command](args ?? {}) });
    } catch (error) {
      process.send({ id, error: error.stack ?? String(error) });
    }
  });
  process.on('disconnect', () => process.exit(0));
  process.send({ event: 'ready' });
}
