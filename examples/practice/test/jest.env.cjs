process.env.BILLING_KEY = require('node:crypto').randomBytes(32).toString('base64');
