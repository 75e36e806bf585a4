export enum Queues {
  Audio = 'audio',
  Image = 'image',
  Mail = 'mail',
}

export const TRANSCODE = 'transcode';
