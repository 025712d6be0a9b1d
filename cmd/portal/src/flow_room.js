// What is fetched when a workflow is looked at or drawn.
export { Editor } from './flow_editor.js';
export { Run } from './flow_run.js';
