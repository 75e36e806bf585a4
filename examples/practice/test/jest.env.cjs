process.env.BILLING_KEY = Buffer.alloc(32, 7).toString('base64');
