import { Module } from '@nestjs/common';
import { AppointmentHandlers, ConfirmationHandler, ReminderHandler, SmsOptions } from './appointment.handlers.js';
import { AppointmentsController } from './appointments.controller.js';
import { AppointmentsService } from './appointments.service.js';

@Module({
  controllers: [AppointmentsController],
  providers: [AppointmentsService, ConfirmationHandler, ReminderHandler, SmsOptions, AppointmentHandlers],
})
export class AppointmentsModule {}
