/** Ending of a file that waits beside the live one to be installed. */
export const STAGED = '.certroll-next';

/** Ending of what a live file was before its last change. */
export const PREVIOUS = '.certroll-previous';
