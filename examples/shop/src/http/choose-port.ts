import { createServer } from 'node:net';

/** Returns the wanted port, or 0 (the system picks a free one) where it is taken. */
export async function choosePort(wanted: string, host: string): Promise<number> {
  const port = Number(wanted);
  if (!/^\d+$/.test(wanted) || port > 65_535) {
    throw new Error(`PORT: expected a number from 0 to 65535, found "${wanted}".`);
  }
  if (port === 0 || (await isFree(port, host))) {
    return port;
  }
  console.log(`Port ${port} is taken; taking a free one.`);
  return 0;
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}
