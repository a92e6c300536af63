import pLimit from 'p-limit';
import { loadCluster } from '../cluster/load.js';
import { exitOf } from '../doctor/report.js';
import { renderDoctor } from '../report/doctor-table.js';
import { examine } from '../run/doctor/doctor.js';
import { openDoctorDoors } from '../run/doctor/doors.js';
import type { DoctorFlags } from './commands/doctor.js';
import { auditProgress } from './audit-progress.js';
import { outputStyle, print } from './session.js';

/** `certroll doctor`; exit 1 when something would stop a run, 3 when there are warnings only. */
export const showDoctor = async ({ cluster: file, json, atOnce }: DoctorFlags): Promise<number> => {
  const cluster = await loadCluster(file);
  const progress = await auditProgress();
  try {
    const doors = openDoctorDoors(cluster, pLimit(atOnce));
    const report = await examine(doors, { now: () => new Date(), progress: progress.show });
    progress.end();
    print(json === true ? JSON.stringify(report) : renderDoctor(report, outputStyle()));
    return exitOf(report);
  } finally {
    progress.end();
  }
};
